"""Certificates of robust problems: members of uncertainty sets, and sums over them with proven errors."""
