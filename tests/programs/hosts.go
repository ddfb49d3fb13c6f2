// An HTTP and an HTTPS server that print the host and the path of each request.
package main

import (
	"crypto/tls"
	"fmt"
	"net/http"
	"os"
)

func serve(w http.ResponseWriter, r *http.Request) {
	fmt.Printf("%s %s 200\n", r.Host, r.URL.Path)
	fmt.Fprintln(w, "hello")
}

func main() {
	plain, secure, cert, key := os.Args[1], os.Args[2], os.Args[3], os.Args[4]
	server := http.Server{
		Addr:      "127.0.0.1:" + secure,
		Handler:   http.HandlerFunc(serve),
		TLSConfig: &tls.Config{CurvePreferences: []tls.CurveID{tls.CurveP384}},
	}

	go func() { fmt.Fprintln(os.Stderr, server.ListenAndServeTLS(cert, key)) }()
	fmt.Fprintln(os.Stderr, http.ListenAndServe("127.0.0.1:"+plain, server.Handler))
}
