"""W2NER (Li et al., AAAI 2022, arXiv 2112.10070): entities as relations between the words of a text.

Written from the paper. `units` and `grid` need nothing but Python; `network`, `encoders` and `saved` need torch.
"""
