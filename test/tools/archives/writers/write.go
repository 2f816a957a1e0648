// Packs a folder into a zip on standard output.
package main

import (
	"archive/zip"
	"os"
)

func main() {
	archive := zip.NewWriter(os.Stdout)
	if err := archive.AddFS(os.DirFS(os.Args[1])); err != nil {
		panic(err)
	}
	if err := archive.Close(); err != nil {
		panic(err)
	}
}
