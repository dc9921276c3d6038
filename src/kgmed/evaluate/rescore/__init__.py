"""Recorded answers of the papers scored again: do the recorded numbers come out, and does our own scoring agree?"""
