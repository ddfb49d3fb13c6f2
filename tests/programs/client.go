// Fetches URLs; built without cgo it is static and resolves names by itself.
package main

import (
	"fmt"
	"io"
	"net/http"
	"os"
)

func main() {
	for _, url := range os.Args[1:] {
		answer, err := http.Get(url)
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		if answer.StatusCode != 200 {
			fmt.Fprintln(os.Stderr, answer.Status)
			os.Exit(1)
		}
		if _, err := io.Copy(os.Stdout, answer.Body); err != nil {
			os.Exit(1)
		}
	}
}
