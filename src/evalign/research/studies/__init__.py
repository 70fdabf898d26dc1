"""Experiments of papers, repeated by one command on any models and data: a plan and rows in, numbers and pages out."""
