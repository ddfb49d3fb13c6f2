/* The addresses of a cordon's own network.  198.18.0.0/15 is set aside for
 * tests of network devices (RFC 2544), so no host outside has one of them. */
#ifndef GATE_ADDRESSES_H
#define GATE_ADDRESSES_H

#define GATE_RANGE		0xc6120000u	/* 198.18.0.0 */
#define GATE_RANGE_BITS		15
#define GATE_RESERVED		256u		/* 198.18.0.0/24 holds no name; .1 is the cordon's own */

#endif
