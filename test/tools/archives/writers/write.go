// Packs a folder into a zip, or a tar where a second argument says so, on standard output.
package main

import (
	"archive/tar"
	"archive/zip"
	"io/fs"
	"os"
)

func main() {
	var archive interface {
		AddFS(fs.FS) error
		Close() error
	} = zip.NewWriter(os.Stdout)
	if len(os.Args) > 2 {
		archive = tar.NewWriter(os.Stdout)
	}
	if err := archive.AddFS(os.DirFS(os.Args[1])); err != nil {
		panic(err)
	}
	if err := archive.Close(); err != nil {
		panic(err)
	}
}
