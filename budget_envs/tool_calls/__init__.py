"""Tool calls as text: dialogues, the formats that agents write calls in, and how they are read."""
