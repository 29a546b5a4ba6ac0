/* SPDX-License-Identifier: Apache-2.0 */
/* Random programs of rqspinlocks, replayed against a model: see oracle.c. */
#ifndef TEST_ORACLE_H
#define TEST_ORACLE_H

#include <stdint.h>

/* Runs so many programs; ends the process when one of them is not as the model says. */
void oracle_run(uint32_t programs);

#endif
