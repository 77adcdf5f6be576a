// paced_writer SECONDS FILE: as paced_writer.c.
package main

import (
	"os"
	"time"
)

func main() {
	file, err := os.Create(os.Args[2])
	if err != nil {
		panic(err)
	}
	seconds, _ := time.ParseDuration(os.Args[1] + "s")
	block := make([]byte, 1<<18)
	for end := time.Now().Add(seconds); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		file.WriteAt(block, 0)
	}
}
