"""Bar and line charts with printed values."""
