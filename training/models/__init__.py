"""Models for training and inference: pretrained ones and ones with random initial weights.

`encoders` has pretrained models with a classification head, `instructions` the decoders that write
answers and `seq2seq` the sentence-to-meaning models that are trained from scratch. `learner` is the
interface that training needs from each of them; `loading` finds trained models by address.
"""
