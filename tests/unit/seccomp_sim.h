/* A simulator of seccomp filters: what a filter answers to a call (SECCOMP_RET_...).
 *
 * All of classic BPF that the kernel lets into a seccomp filter, so that filters
 * of other makers can be asked as well.  A program that the kernel would not load
 * answers SECCOMP_RET_KILL_PROCESS.
 */
#ifndef TESTS_UNIT_SECCOMP_SIM_H
#define TESTS_UNIT_SECCOMP_SIM_H

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

struct machine {
	uint32_t a, x, mem[BPF_MEMWORDS];
};

/* The word of struct seccomp_data at a byte offset. */
static bool read_data(const struct seccomp_data *data, uint32_t offset, uint32_t *ret)
{
	if (offset % 4 || offset >= sizeof(*data))
		return false;
	memcpy(ret, (const char *)data + offset, sizeof(*ret));
	return true;
}

static bool run_load(struct machine *m, const struct sock_filter *f,
		     const struct seccomp_data *data)
{
	uint32_t *to = BPF_CLASS(f->code) == BPF_LD ? &m->a : &m->x;

	if (BPF_SIZE(f->code) != BPF_W)
		return false;
	switch (BPF_MODE(f->code)) {
	case BPF_IMM:
		*to = f->k;
		return true;
	case BPF_LEN:
		*to = sizeof(*data);
		return true;
	case BPF_MEM:
		if (f->k >= BPF_MEMWORDS)
			return false;
		*to = m->mem[f->k];
		return true;
	case BPF_ABS:
		return to == &m->a && read_data(data, f->k, to);
	default:
		return false;
	}
}

static bool run_store(struct machine *m, const struct sock_filter *f)
{
	if (f->k >= BPF_MEMWORDS)
		return false;
	m->mem[f->k] = f->code == BPF_ST ? m->a : m->x;
	return true;
}

static bool run_shift(uint32_t *a, unsigned op, uint32_t by)
{
	if (by > 31)
		return false;
	*a = op == BPF_LSH ? *a << by : *a >> by;
	return true;
}

static bool run_alu(struct machine *m, const struct sock_filter *f)
{
	uint32_t by = BPF_SRC(f->code) == BPF_X ? m->x : f->k;

	switch (BPF_OP(f->code)) {
	case BPF_ADD:
		m->a += by;
		return true;
	case BPF_SUB:
		m->a -= by;
		return true;
	case BPF_MUL:
		m->a *= by;
		return true;
	case BPF_DIV:
		if (by == 0)
			return false;
		m->a /= by;
		return true;
	case BPF_AND:
		m->a &= by;
		return true;
	case BPF_OR:
		m->a |= by;
		return true;
	case BPF_XOR:
		m->a ^= by;
		return true;
	case BPF_NEG:
		m->a = -m->a;
		return true;
	case BPF_LSH:
	case BPF_RSH:
		return run_shift(&m->a, BPF_OP(f->code), by);
	default:
		return false;
	}
}

static bool run_jump(const struct machine *m, const struct sock_filter *f, size_t *pc)
{
	uint32_t with = BPF_SRC(f->code) == BPF_X ? m->x : f->k;
	bool is_true;

	switch (BPF_OP(f->code)) {
	case BPF_JA:
		*pc += f->k;
		return true;
	case BPF_JEQ:
		is_true = m->a == with;
		break;
	case BPF_JGT:
		is_true = m->a > with;
		break;
	case BPF_JGE:
		is_true = m->a >= with;
		break;
	case BPF_JSET:
		is_true = (m->a & with) != 0;
		break;
	default:
		return false;
	}
	*pc += is_true ? f->jt : f->jf;
	return true;
}

static bool run_move(struct machine *m, const struct sock_filter *f)
{
	switch (BPF_MISCOP(f->code)) {
	case BPF_TAX:
		m->x = m->a;
		return true;
	case BPF_TXA:
		m->a = m->x;
		return true;
	default:
		return false;
	}
}

static uint32_t seccomp_simulate(const struct sock_filter *filter, size_t n,
				 const struct seccomp_data *data)
{
	struct machine m = { 0 };
	bool runs = true;

	/* Jumps only go forward, so this ends. */
	for (size_t pc = 0; runs && pc < n; pc++) {
		const struct sock_filter *f = &filter[pc];

		switch (BPF_CLASS(f->code)) {
		case BPF_LD:
		case BPF_LDX:
			runs = run_load(&m, f, data);
			break;
		case BPF_ST:
		case BPF_STX:
			runs = run_store(&m, f);
			break;
		case BPF_ALU:
			runs = run_alu(&m, f);
			break;
		case BPF_JMP:
			runs = run_jump(&m, f, &pc);
			break;
		case BPF_MISC:
			runs = run_move(&m, f);
			break;
		case BPF_RET:
			return BPF_RVAL(f->code) == BPF_A ? m.a : f->k;
		}
	}
	return SECCOMP_RET_KILL_PROCESS;
}

#endif
