"""The bundled garden site, which `up --demo`, the tests and `./run demo` serve on loopback and crawl."""
