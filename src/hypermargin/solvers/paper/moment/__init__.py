"""The moment (Lasserre) relaxation: `model` builds it, `backends` solve it, `sos` says what that proves."""
