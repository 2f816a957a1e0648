// Unpacks archives as Go programs do: a line `format TAB archive TAB folder` in, a line with `ok` or the error out.
package main

import (
	"archive/tar"
	"archive/zip"
	"bufio"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

func main() {
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		answer := "ok"
		if err := unpack(strings.Split(lines.Text(), "\t")); err != nil {
			answer = strings.ReplaceAll(err.Error(), "\n", " ")
		}
		fmt.Println(answer)
	}
}

func unpack(request []string) error {
	format, archive, folder := request[0], request[1], request[2]
	if format == "zip" {
		return unpackZip(archive, folder)
	}
	file, err := os.Open(archive)
	if err != nil {
		return err
	}
	defer file.Close()
	var content io.Reader = bufio.NewReader(file)
	if format == "tar.gz" {
		if content, err = gzip.NewReader(content); err != nil {
			return err
		}
	}
	return unpackTar(tar.NewReader(content), content, folder)
}

func unpackZip(archive, folder string) error {
	opened, err := zip.OpenReader(archive)
	if err != nil {
		return err
	}
	defer opened.Close()
	for _, entry := range opened.File {
		content, err := entry.Open()
		if err != nil {
			return err
		}
		target := filepath.Join(folder, entry.Name)
		mode := entry.Mode()
		if mode&fs.ModeSymlink != 0 {
			link, err := io.ReadAll(content)
			if err != nil {
				return err
			}
			if err := os.Symlink(string(link), target); err != nil {
				return err
			}
		} else if err := create(target, mode, content); err != nil {
			return err
		}
		content.Close()
	}
	return nil
}

func unpackTar(entries *tar.Reader, rest io.Reader, folder string) error {
	for {
		header, err := entries.Next()
		if errors.Is(err, io.EOF) {
			// What follows the end of the tar still has a gzip checksum.
			_, err = io.Copy(io.Discard, rest)
			return err
		}
		if err != nil {
			return err
		}
		target := filepath.Join(folder, header.Name)
		switch header.Typeflag {
		case tar.TypeXGlobalHeader:
		case tar.TypeSymlink:
			err = os.Symlink(header.Linkname, target)
		case tar.TypeLink:
			err = os.Link(filepath.Join(folder, header.Linkname), target)
		default:
			err = create(target, header.FileInfo().Mode(), entries)
		}
		if err != nil {
			return err
		}
	}
}

func create(target string, mode fs.FileMode, content io.Reader) error {
	if mode.IsDir() {
		if err := os.MkdirAll(target, 0o755); err != nil {
			return err
		}
		return os.Chmod(target, mode|0o700)
	}
	if !mode.IsRegular() {
		return fmt.Errorf("%s is %s", target, mode)
	}
	if err := os.MkdirAll(filepath.Dir(target), 0o755); err != nil {
		return err
	}
	file, err := os.Create(target)
	if err != nil {
		return err
	}
	defer file.Close()
	if _, err := io.Copy(file, content); err != nil {
		return err
	}
	return os.Chmod(target, mode)
}
