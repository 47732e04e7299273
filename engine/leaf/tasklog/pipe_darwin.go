package tasklog

// fionread asks how many bytes a FIFO holds (sys/filio.h).
const fionread = 0x4004667f
