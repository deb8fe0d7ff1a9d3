"""The built-in voice's text front end: text -> phone tokens. Imports neither torch nor SGLang."""
