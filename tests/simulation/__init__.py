"""Plays the planner and the fetchers on a virtual clock, with every fault that AWS and publishers have.

What is played is the product's own code on the ports in memory. docs/faults.md says how to read and
replay a run.
"""
