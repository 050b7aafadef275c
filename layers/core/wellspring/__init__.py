"""Wellspring keeps sources fresh: it polls what is due and stores every new post once."""

__version__ = "0.1.0"
