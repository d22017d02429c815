"""Questions for language models: what is asked, and how an answer is read.

`files` reads the prompts of ``conf/prompts`` (`promptsource` those of that project), and `replies`
finds the answer in what a model wrote. Training asks them, exports carry them, and answers of other
programs are read by them.
"""
