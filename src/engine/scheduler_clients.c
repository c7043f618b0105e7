/* SPDX-License-Identifier: Apache-2.0 */
/* scheduler_clients.c - tokens served to each client, for fairness. */
#include "engine/scheduler_clients.h"
#include "base/error.h"

static struct qr_scheduler_client *find_client(const struct qr_scheduler *s, uint64_t key)
{
    struct qr_scheduler_client *unused = NULL;
    for (uint32_t i = 0; i < s->params.max_tasks; i++) {
        struct qr_scheduler_client *c = &s->clients[i];
        if (c->n_tasks && c->key == key)
            return c;
        if (!c->n_tasks && !unused)
            unused = c;
    }
    return unused;
}

void qr_scheduler_enter_client(struct qr_scheduler *s, struct qr_task *task)
{
    struct qr_scheduler_client *client = find_client(s, task->client);
    QR_INVARIANT(client); /* a client has a task, and there are as many places as tasks */
    task->client_slot = (uint32_t)(client - s->clients);
    if (client->n_tasks++)
        return;
    uint64_t least = UINT64_MAX;
    for (uint32_t i = 0; i < s->params.max_tasks; i++) {
        const struct qr_scheduler_client *c = &s->clients[i];
        if (c != client && c->n_tasks && c->served < least)
            least = c->served;
    }
    client->key = task->client;
    client->served = least == UINT64_MAX ? 0 : least;
}

void qr_scheduler_charge(struct qr_scheduler *s, struct qr_task *task)
{
    if (task->n_computed <= task->n_charged)
        return;
    s->clients[task->client_slot].served += task->n_computed - task->n_charged;
    task->n_charged = task->n_computed;
}
