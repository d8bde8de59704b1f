"""Signs, product labels and receipts: printed words to read."""
