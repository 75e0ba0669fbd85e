//! Purpose: shows that commands stay in their cage, and that honest ones can work in it.

mod honest;
mod hostile;
mod world;
