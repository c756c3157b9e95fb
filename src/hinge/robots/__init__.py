"""x"""
from hinge.robots.random_tree import random_tree
