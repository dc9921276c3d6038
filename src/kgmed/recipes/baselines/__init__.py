"""The rivals that the papers compare against, one file each, on the same graph, linker and reader as the rest."""
