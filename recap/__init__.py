"""RECAP: training-free speculative decoding of vision-language models with recycled predictions (arXiv 2611.05894).

`recap.engine.generate` is the loop; `recap.targets.loading.load_target` opens a model, `recap.drafters.make_drafter` a
method. Importing this package loads nothing: figures and traces are read without torch.
"""
