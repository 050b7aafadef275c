"""Owns the AWS side of the ports: one module for each table, one for the queue."""
