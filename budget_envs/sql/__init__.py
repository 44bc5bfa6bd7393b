"""SQL: engines, comparison of results, rewards and mutations of queries."""
