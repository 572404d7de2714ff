"""What runs cost."""
