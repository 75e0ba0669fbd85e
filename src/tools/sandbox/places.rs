//! Purpose: the parts of the system that a program needs to run at all, and that hold no secrets.

use super::Network;

/// Directories or, on most systems, links into `/usr`.
pub(super) const SYSTEM: [&str; 7] = ["/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32"];

/// Never `/etc` as a whole: it has password hashes, keys of hosts and settings of services in it.
const ETC: [&str; 18] = [
    "/etc/alternatives",
    "/etc/ca-certificates",
    "/etc/ca-certificates.conf",
    "/etc/debian_version",
    "/etc/group",
    "/etc/ld.so.cache",
    "/etc/ld.so.conf",
    "/etc/ld.so.conf.d",
    "/etc/localtime",
    "/etc/mime.types",
    "/etc/nsswitch.conf",
    "/etc/os-release",
    "/etc/passwd",
    "/etc/pki/tls/certs",
    "/etc/protocols",
    "/etc/services",
    "/etc/ssl/certs",
    "/etc/ssl/openssl.cnf",
];

const ETC_FOR_THE_NETWORK: [&str; 3] = ["/etc/hosts", "/etc/host.conf", "/etc/resolv.conf"];

pub(super) fn etc(network: Network) -> Vec<&'static str> {
    match network {
        Network::Off => ETC.to_vec(),
        Network::On => [&ETC[..], &ETC_FOR_THE_NETWORK].concat(),
    }
}
