"""Apps to learn from. Run one with: shoal up --app examples.hello:app"""
