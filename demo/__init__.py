"""The page: gradio only. `python demo/app.py` starts it."""
