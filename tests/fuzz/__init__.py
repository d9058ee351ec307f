"""A tester that never sleeps: random problems of every kind, judged in high precision by code of its own."""
