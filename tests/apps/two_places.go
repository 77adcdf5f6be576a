// two_places SECONDS DATA LOG: as two_places.c, with a position in each write.
package main

import (
	"os"
	"strconv"
	"time"
)

func open(path string) *os.File {
	file, err := os.Create(path)
	if err != nil {
		panic(err)
	}
	return file
}

func main() {
	data, log := open(os.Args[2]), open(os.Args[3])
	seconds, _ := strconv.Atoi(os.Args[1])
	block := make([]byte, 2<<20)
	for i := 0; i < 10*seconds; i++ {
		if i%16 == 0 {
			data.Truncate(0)
		}
		data.WriteAt(block, int64(i%16*len(block)))
		log.WriteString("line\n")
		time.Sleep(100 * time.Millisecond)
	}
}
