"""Firefox is a browser engine, which is controlled with WebDriver BiDi."""
