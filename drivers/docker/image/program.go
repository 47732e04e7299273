package image

import (
	"bytes"
	"debug/elf"
	"encoding/binary"

	"taskrun/drivers/docker/settings"
)

// machine is the program of a container that holds a network, in machine code.
// As tasks share only that network with it, it opens sockets there, for the
// engine to use:
//
//	umask(0)
//	unlink(settings.Sockets), which an earlier run has left
//	listen at settings.Sockets, or else pause forever
//	for each connection:
//	    send a new TCP socket, as SCM_RIGHTS
//	    close both
//
// After the code comes the address of settings.Sockets.
type machine struct {
	elf  elf.Machine
	code []byte
}

// machines are the kinds of machines by their names in the engine's API.
var machines = map[string]machine{
	"amd64": {elf.EM_X86_64, []byte{
		0x31, 0xff, // xor edi, edi               umask(0)
		0xb8, 0x5f, 0x00, 0x00, 0x00, // mov eax, 95
		0x0f, 0x05, // syscall
		0x48, 0x8d, 0x3d, 0xc2, 0x00, 0x00, 0x00, // lea rdi, [rip+address+2]   unlink(path)
		0xb8, 0x57, 0x00, 0x00, 0x00, // mov eax, 87
		0x0f, 0x05, // syscall
		0xbf, 0x01, 0x00, 0x00, 0x00, // mov edi, 1                 socket(AF_UNIX, SOCK_STREAM, 0)
		0xbe, 0x01, 0x00, 0x00, 0x00, // mov esi, 1
		0x31, 0xd2, // xor edx, edx
		0xb8, 0x29, 0x00, 0x00, 0x00, // mov eax, 41
		0x0f, 0x05, // syscall
		0x89, 0xc3, // mov ebx, eax
		0x89, 0xc7, // mov edi, eax               bind(listener, address, 13)
		0x48, 0x8d, 0x35, 0x9b, 0x00, 0x00, 0x00, // lea rsi, [rip+address]
		0xba, 0x0d, 0x00, 0x00, 0x00, // mov edx, 13
		0xb8, 0x31, 0x00, 0x00, 0x00, // mov eax, 49
		0x0f, 0x05, // syscall
		0x89, 0xdf, // mov edi, ebx               listen(listener, 64)
		0xbe, 0x40, 0x00, 0x00, 0x00, // mov esi, 64
		0xb8, 0x32, 0x00, 0x00, 0x00, // mov eax, 50
		0x0f, 0x05, // syscall
		0x89, 0xdf, // again: mov edi, ebx        accept(listener, 0, 0)
		0x31, 0xf6, // xor esi, esi
		0x31, 0xd2, // xor edx, edx
		0xb8, 0x2b, 0x00, 0x00, 0x00, // mov eax, 43
		0x0f, 0x05, // syscall
		0x85, 0xc0, // test eax, eax
		0x78, 0x67, // js pause
		0x89, 0xc5, // mov ebp, eax
		0xbf, 0x02, 0x00, 0x00, 0x00, // mov edi, 2                 socket(AF_INET, SOCK_STREAM, 0)
		0xbe, 0x01, 0x00, 0x00, 0x00, // mov esi, 1
		0x31, 0xd2, // xor edx, edx
		0xb8, 0x29, 0x00, 0x00, 0x00, // mov eax, 41
		0x0f, 0x05, // syscall
		0x41, 0x89, 0xc4, // mov r12d, eax
		0x49, 0x89, 0xe5, // mov r13, rsp
		0x50,                                                       // push rax                   cmsghdr, and the socket
		0x48, 0xb9, 0x01, 0x00, 0x00, 0x00, 0x01, 0x00, 0x00, 0x00, // movabs rcx, 0x100000001    SOL_SOCKET, SCM_RIGHTS
		0x51,       // push rcx
		0x6a, 0x14, // push 20
		0x48, 0x89, 0xe1, // mov rcx, rsp
		0x6a, 0x01, // push 1                     iovec: any byte
		0x54,             // push rsp
		0x48, 0x89, 0xe2, // mov rdx, rsp
		0x6a, 0x00, // push 0                     msghdr
		0x6a, 0x18, // push 24
		0x51,       // push rcx
		0x6a, 0x01, // push 1
		0x52,       // push rdx
		0x6a, 0x00, // push 0
		0x6a, 0x00, // push 0
		0x89, 0xef, // mov edi, ebp               sendmsg(conn, message, MSG_NOSIGNAL)
		0x48, 0x89, 0xe6, // mov rsi, rsp
		0xba, 0x00, 0x40, 0x00, 0x00, // mov edx, 0x4000
		0xb8, 0x2e, 0x00, 0x00, 0x00, // mov eax, 46
		0x0f, 0x05, // syscall
		0x4c, 0x89, 0xec, // mov rsp, r13
		0x44, 0x89, 0xe7, // mov edi, r12d              close(socket)
		0xb8, 0x03, 0x00, 0x00, 0x00, // mov eax, 3
		0x0f, 0x05, // syscall
		0x89, 0xef, // mov edi, ebp               close(conn)
		0xb8, 0x03, 0x00, 0x00, 0x00, // mov eax, 3
		0x0f, 0x05, // syscall
		0xeb, 0x88, // jmp again
		0xb8, 0x22, 0x00, 0x00, 0x00, // pause: mov eax, 34         pause()
		0x0f, 0x05, // syscall
		0xeb, 0xf7, // jmp pause
	}},
	"arm64": {elf.EM_AARCH64, words(
		0xd2800000, // mov x0, 0              umask(0)
		0xd28014c8, // mov x8, 166
		0xd4000001, // svc 0
		0x92800c60, // mov x0, -100           unlinkat(AT_FDCWD, path, 0)
		0x50000821, // adr x1, address+2
		0xd2800002, // mov x2, 0
		0xd2800468, // mov x8, 35
		0xd4000001, // svc 0
		0xd2800020, // mov x0, 1              socket(AF_UNIX, SOCK_STREAM, 0)
		0xd2800021, // mov x1, 1
		0xd2800002, // mov x2, 0
		0xd28018c8, // mov x8, 198
		0xd4000001, // svc 0
		0xaa0003f3, // mov x19, x0
		0x100006e1, // adr x1, address        bind(listener, address, 13)
		0xd28001a2, // mov x2, 13
		0xd2801908, // mov x8, 200
		0xd4000001, // svc 0
		0xaa1303e0, // mov x0, x19            listen(listener, 64)
		0xd2800801, // mov x1, 64
		0xd2801928, // mov x8, 201
		0xd4000001, // svc 0
		0xd10183ff, // sub sp, sp, 96         msghdr, iovec, cmsghdr, and the socket
		0xaa1303e0, // again: mov x0, x19     accept(listener, 0, 0)
		0xd2800001, // mov x1, 0
		0xd2800002, // mov x2, 0
		0xd2801948, // mov x8, 202
		0xd4000001, // svc 0
		0xb7f80420, // tbnz x0, 63, pause
		0xaa0003f4, // mov x20, x0
		0xd2800040, // mov x0, 2              socket(AF_INET, SOCK_STREAM, 0)
		0xd2800021, // mov x1, 1
		0xd2800002, // mov x2, 0
		0xd28018c8, // mov x8, 198
		0xd4000001, // svc 0
		0xaa0003f5, // mov x21, x0
		0xa9007fff, // stp xzr, xzr, [sp]     msghdr
		0xd2800022, // mov x2, 1
		0x9100e3e1, // add x1, sp, 56
		0xa9010be1, // stp x1, x2, [sp, 16]
		0xd2800304, // mov x4, 24
		0x910123e3, // add x3, sp, 72
		0xa90213e3, // stp x3, x4, [sp, 32]
		0xf9001bff, // str xzr, [sp, 48]
		0xa9038be3, // stp x3, x2, [sp, 56]   iovec: any byte
		0xd2800285, // mov x5, 20
		0xb20003e6, // mov x6, 0x100000001    SOL_SOCKET, SCM_RIGHTS
		0xa9049be5, // stp x5, x6, [sp, 72]
		0xf9002ff5, // str x21, [sp, 88]
		0xaa1403e0, // mov x0, x20            sendmsg(conn, message, MSG_NOSIGNAL)
		0x910003e1, // mov x1, sp
		0xd2880002, // mov x2, 0x4000
		0xd2801a68, // mov x8, 211
		0xd4000001, // svc 0
		0xaa1503e0, // mov x0, x21            close(socket)
		0xd2800728, // mov x8, 57
		0xd4000001, // svc 0
		0xaa1403e0, // mov x0, x20            close(conn)
		0xd2800728, // mov x8, 57
		0xd4000001, // svc 0
		0x17ffffdb, // b again
		0xd2800000, // pause: mov x0, 0       ppoll(0, 0, 0, 0, 0)
		0xd2800001, // mov x1, 0
		0xd2800002, // mov x2, 0
		0xd2800003, // mov x3, 0
		0xd2800004, // mov x4, 0
		0xd2800928, // mov x8, 73
		0xd4000001, // svc 0
		0x17fffff9, // b pause
	)},
}

func words(list ...uint32) (code []byte) {
	for _, w := range list {
		code = binary.LittleEndian.AppendUint32(code, w)
	}
	return code
}

// program returns an executable of one segment: its headers, its code, and the
// address at which it listens.
func (m machine) program() []byte {
	const (
		base    = 0x400000
		headers = 64 + 56 // of the file, and of its one segment
		unix    = 1       // AF_UNIX
	)
	text := append(binary.LittleEndian.AppendUint16(bytes.Clone(m.code), unix), settings.Sockets+"\x00"...)
	size := uint64(headers + len(text))
	h := elf.Header64{
		Type: uint16(elf.ET_EXEC), Machine: uint16(m.elf), Version: uint32(elf.EV_CURRENT),
		Entry: base + headers, Phoff: 64, Ehsize: 64, Phentsize: 56, Phnum: 1,
	}
	copy(h.Ident[:], elf.ELFMAG)
	h.Ident[elf.EI_CLASS], h.Ident[elf.EI_DATA], h.Ident[elf.EI_VERSION] = byte(elf.ELFCLASS64), byte(elf.ELFDATA2LSB), byte(elf.EV_CURRENT)
	b, _ := binary.Append(nil, binary.LittleEndian, h) // sizes are fixed
	b, _ = binary.Append(b, binary.LittleEndian, elf.Prog64{
		Type: uint32(elf.PT_LOAD), Flags: uint32(elf.PF_R | elf.PF_X),
		Vaddr: base, Paddr: base, Filesz: size, Memsz: size, Align: 0x1000,
	})
	return append(b, text...)
}
