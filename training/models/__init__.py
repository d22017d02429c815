"""The models that are trained or asked: pretrained ones, and those that start from random weights.

`encoders` has pretrained models with a classification head and how they load, `instructions` the
decoders that write answers, `masked` the language models and `seq2seq` the models from sentences to
meanings that are trained from scratch. `learner` is what training asks of each of them; `loading`
finds trained models by their addresses.
"""
