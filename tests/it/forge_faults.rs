//! Purpose: what the clients do when a forge fails: what is asked again, what never is, and how long they wait.
