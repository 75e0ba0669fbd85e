//! Purpose: rules of the house that a compiler does not hold.
