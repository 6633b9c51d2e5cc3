"""Python source to typed IR."""
