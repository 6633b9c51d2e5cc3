"""What both code generators share: LLVM IR as text."""
