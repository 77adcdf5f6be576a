"""Slicewise: who slowed my job down, by how much, and what would it have taken alone?

Commands use reports and charts, those use analyses, those use profiles; nothing points back.
"""

__version__ = "0.1.0"
