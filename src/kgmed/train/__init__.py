"""What is trained here: pair scorers from a graph's own names, taggers from marked text, policies by a reward."""
