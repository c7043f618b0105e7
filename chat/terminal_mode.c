/* SPDX-License-Identifier: Apache-2.0 */
/* terminal_mode.c - state of the terminal that outlives a process: raw mode, bracketed paste. */
#include "terminal_mode.h"
#include <signal.h>
#include <string.h>
#include <termios.h>
#include <unistd.h>

static struct termios cooked, raw;
static int screen;
static volatile sig_atomic_t opened, editing, resumed;

static bool in_foreground(void) { return tcgetpgrp(0) == getpgrp(); }

static void enable_bracketed_paste(bool on)
{
    const char *sequence = on ? "\033[?2004h" : "\033[?2004l";
    (void)!write(screen, sequence, strlen(sequence));
}

bool terminal_mode_open(int fd)
{
    if (tcgetattr(0, &cooked) != 0)
        return false;
    raw = cooked;
    raw.c_iflag &= ~(tcflag_t)(BRKINT | ICRNL | INLCR | IGNCR | INPCK | ISTRIP | IXON);
    raw.c_lflag &= ~(tcflag_t)(ECHO | ICANON | IEXTEN);
    raw.c_cc[VMIN] = 1;
    raw.c_cc[VTIME] = 0;
    screen = fd;
    opened = 1;
    enable_bracketed_paste(true);
    return true;
}

void terminal_mode_close(void)
{
    terminal_mode_suspend();
    opened = editing = 0;
}

void terminal_mode_edit(bool on)
{
    editing = on; /* first: a signal handler in between must restore the mode */
    tcsetattr(0, TCSADRAIN, on ? &raw : &cooked);
}

void terminal_mode_suspend(void)
{
    if (!opened || !in_foreground())
        return;
    if (editing)
        tcsetattr(0, TCSANOW, &cooked);
    enable_bracketed_paste(false);
}

void terminal_mode_resume(void)
{
    if (!opened || !in_foreground())
        return;
    if (editing)
        tcsetattr(0, TCSANOW, &raw);
    enable_bracketed_paste(true);
    resumed = 1;
}

bool terminal_mode_was_resumed(void)
{
    const bool was = resumed;
    resumed = 0;
    return was;
}
