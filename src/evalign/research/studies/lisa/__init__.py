"""The LiSAScore paper's study."""
