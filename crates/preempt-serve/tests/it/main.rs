//! The server from outside: over its socket, as a browser or a stranger would ask.

mod browser;
mod client;
mod counts;
mod failing;
mod files;
mod rust;
mod security;
mod walking;
mod words;
mod work;
