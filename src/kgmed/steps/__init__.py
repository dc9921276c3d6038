"""Stages that two or more methods share."""
