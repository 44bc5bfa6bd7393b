"""Language models: loading them, talking to them in their own format, and sampling from them.

Importing this package loads neither torch nor transformers; its modules do.
"""
