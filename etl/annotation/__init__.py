"""Annotation by people: export batches, import answers, build the dataset (ADEPT, section 4.1).

`task` declares what people are asked, for ADEPT in `etl.adept.annotation_task`. `batches` composes
the questions, `forms` writes their files, `returned` reads the files of answers, `answers` compares
them with what is stored, `keys` hashes annotators' ids, `quality` decides the labels, `agreement`
measures how far people agree, and `simulate` answers in place of people; all of these know only the
task. `settings`, `selection`, `finishing` and `job` are the verbs of ``etl/annotate_adept.py``;
`degrees` are those of ``etl/annotate_asp.py``, asked as in `etl.asp.annotation_task`.
"""
