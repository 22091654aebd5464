//! A backend and its parallel workers: they run a function of this library and send messages, until each has sent its last.
//!
//! PostgreSQL passes on the transaction, snapshot, user and settings. An error of a worker is raised in the backend at its
//! next check for interrupts. One in the backend ends the workers when the transaction, or the part of it, is cleaned up:
//! nothing here needs a destructor.

use super::{raise_internal, raise_state};
use dedup_core::interrupt;
use pgrx::pg_sys;
use std::ffi::{CStr, c_void};

/// What stands where in the memory that they share.
const SHARED: u64 = 1;
const QUEUES: u64 = 2;
const QUERY: u64 = 3;
const BUFFERS: u64 = 4;
const WAL: u64 = 5;

/// Bytes of a worker's queue: it goes on for so long while the backend is busy.
const QUEUE: usize = 64 << 10;

/// Pieces of shared memory begin at a multiple of this.
pub(crate) const ALIGNED: usize = pg_sys::ALIGNOF_BUFFER as usize;

/// The workers, as the backend sees them.
pub(crate) struct Workers {
    context: *mut pg_sys::ParallelContext,
    queues: Vec<Queue>,
    /// An element for each worker.
    buffers: *mut pg_sys::BufferUsage,
    wal: *mut pg_sys::WalUsage,
}

struct Queue {
    handle: *mut pg_sys::shm_mq_handle,
    is_open: bool,
    has_ended: bool,
}

impl Workers {
    /// Starts workers that call `entry`, a function of this library that calls [`work`], with `bytes` of shared memory
    /// that `fill` has filled. `None` if none is to be had; else only [`Workers::end`] lets the backend write again.
    ///
    /// # Safety
    /// `fill` writes no more than the bytes. Until the end nothing is done that PostgreSQL forbids in parallel mode.
    pub(crate) unsafe fn start(
        entry: &'static CStr,
        count: i32,
        bytes: usize,
        fill: impl FnOnce(*mut c_void),
    ) -> Option<Workers> {
        // SAFETY: the steps that PostgreSQL asks for, in its order: what is allocated was estimated before. Should there
        // be no shared memory for workers, the context holds memory of its own, and starts none.
        unsafe {
            pg_sys::EnterParallelMode();
            let context = pg_sys::CreateParallelContext(c"pg_dedup".as_ptr(), entry.as_ptr(), count);
            let most = (*context).nworkers as usize;
            let query = match pg_sys::debug_query_string.is_null() {
                true => None,
                false => Some(CStr::from_ptr(pg_sys::debug_query_string).to_bytes_with_nul()),
            };
            let pieces = [
                (SHARED, bytes),
                (QUEUES, most * QUEUE),
                (QUERY, query.map_or(0, <[u8]>::len)),
                (BUFFERS, most * size_of::<pg_sys::BufferUsage>()),
                (WAL, most * size_of::<pg_sys::WalUsage>()),
            ];
            let estimate = &mut (*context).estimator;
            for (_, bytes) in pieces {
                let bytes = bytes.next_multiple_of(ALIGNED);
                estimate.space_for_chunks = pg_sys::add_size(estimate.space_for_chunks, bytes);
                estimate.number_of_keys += 1;
            }
            pg_sys::InitializeParallelDSM(context);
            let [shared, queues, text, buffers, wal] = pieces.map(|(key, bytes)| {
                let piece = pg_sys::shm_toc_allocate((*context).toc, bytes);
                if key != QUERY || query.is_some() {
                    pg_sys::shm_toc_insert((*context).toc, key, piece);
                }
                piece
            });
            fill(shared);
            if let Some(query) = query {
                text.cast::<u8>().copy_from_nonoverlapping(query.as_ptr(), query.len());
            }
            for worker in 0..(*context).nworkers as usize {
                let queue = pg_sys::shm_mq_create(queues.byte_add(worker * QUEUE), QUEUE);
                pg_sys::shm_mq_set_receiver(queue, pg_sys::MyProc);
            }
            pg_sys::LaunchParallelWorkers(context);
            let queues = (0..(*context).nworkers_launched as usize).map(|worker| {
                let queue = queues.byte_add(worker * QUEUE).cast();
                // By the worker's handle a queue closes also if the process never comes to open it.
                let process = (*(*context).worker.add(worker)).bgwhandle;
                let handle = pg_sys::shm_mq_attach(queue, (*context).seg, process);
                Queue { handle, is_open: true, has_ended: false }
            });
            let workers =
                Workers { context, queues: queues.collect(), buffers: buffers.cast(), wal: wal.cast() };
            if workers.queues.is_empty() {
                workers.end();
                return None;
            }
            Some(workers)
        }
    }

    pub(crate) fn count(&self) -> usize {
        self.queues.len()
    }

    /// Takes the messages that have come. `take` says whether a message is its worker's last.
    pub(crate) fn receive(&mut self, mut take: impl FnMut(&[u64]) -> bool) {
        for queue in &mut self.queues {
            while queue.is_open {
                interrupt::check();
                let (mut bytes, mut message) = (0, std::ptr::null_mut());
                // SAFETY: the queue is attached until the end; a message is aligned, and stays until the next is asked for.
                unsafe {
                    match pg_sys::shm_mq_receive(queue.handle, &mut bytes, &mut message, true) {
                        pg_sys::shm_mq_result::SHM_MQ_SUCCESS => {
                            let words = std::slice::from_raw_parts(message.cast(), bytes / size_of::<u64>());
                            queue.has_ended |= take(words);
                        }
                        pg_sys::shm_mq_result::SHM_MQ_WOULD_BLOCK => break,
                        _ => queue.is_open = false,
                    }
                }
            }
        }
    }

    /// Takes all messages until every worker is done.
    pub(crate) fn receive_all(&mut self, mut take: impl FnMut(&[u64]) -> bool) {
        loop {
            self.receive(&mut take);
            if !self.queues.iter().any(|queue| queue.is_open) {
                return;
            }
            let events = pg_sys::WL_LATCH_SET | pg_sys::WL_EXIT_ON_PM_DEATH;
            let reason = pg_sys::WaitEventIPC::WAIT_EVENT_PARALLEL_CREATE_INDEX_SCAN;
            // SAFETY: the latch is this process's; whoever writes to a queue, closes it or sends an error sets it.
            unsafe {
                pg_sys::WaitLatch(pg_sys::MyLatch, events as i32, 0, reason);
                pg_sys::ResetLatch(pg_sys::MyLatch);
            }
            pgrx::check_for_interrupts!();
        }
    }

    /// Waits for the workers, counts what they read and wrote as the statement's, and leaves parallel mode.
    ///
    /// # Safety
    /// Nobody uses the shared memory any more.
    pub(crate) unsafe fn end(self) {
        // SAFETY: the caller's promise; each worker that has ended well has written its element.
        unsafe {
            pg_sys::WaitForParallelWorkersToFinish(self.context);
            if !self.queues.iter().all(|queue| queue.has_ended) {
                raise_internal("a parallel worker ended before its work", "")
            }
            for worker in 0..self.queues.len() {
                pg_sys::InstrAccumParallelQuery(self.buffers.add(worker), self.wal.add(worker));
            }
            pg_sys::DestroyParallelContext(self.context);
            pg_sys::ExitParallelMode();
        }
    }
}

/// What a worker sends its messages to.
pub(crate) struct Leader(*mut pg_sys::shm_mq_handle);

impl Leader {
    /// Sends a message, when there is room for it.
    pub(crate) fn send(&mut self, message: &[u64]) {
        // SAFETY: the queue is attached while `work` runs.
        let sent = unsafe {
            pg_sys::shm_mq_send(self.0, size_of_val(message), message.as_ptr().cast(), false, false)
        };
        if sent != pg_sys::shm_mq_result::SHM_MQ_SUCCESS {
            pgrx::check_for_interrupts!();
            raise_state("the backend of this worker is gone", "")
        }
    }
}

/// What a worker does: `run`, with the shared memory that [`Workers::start`] was given.
///
/// # Safety
/// The arguments are those that PostgreSQL gives to the entry.
pub(crate) unsafe fn work(
    segment: *mut pg_sys::dsm_segment,
    contents: *mut pg_sys::shm_toc,
    run: impl FnOnce(*mut c_void, &mut Leader),
) {
    // SAFETY: the caller's promise; `start` has put the pieces there, and a queue and elements for each worker.
    unsafe {
        pg_sys::debug_query_string = pg_sys::shm_toc_lookup(contents, QUERY, true).cast();
        let running = pg_sys::BackendState::STATE_RUNNING;
        pg_sys::pgstat_report_activity(running, pg_sys::debug_query_string);
        let worker = pg_sys::ParallelWorkerNumber as usize;
        let [shared, queues, buffers, wal] =
            [SHARED, QUEUES, BUFFERS, WAL].map(|key| pg_sys::shm_toc_lookup(contents, key, false));
        let queue = queues.byte_add(worker * QUEUE).cast();
        pg_sys::shm_mq_set_sender(queue, pg_sys::MyProc);
        let mut leader = Leader(pg_sys::shm_mq_attach(queue, segment, std::ptr::null_mut()));
        pg_sys::InstrStartParallelQuery();
        run(shared, &mut leader);
        pg_sys::InstrEndParallelQuery(
            buffers.cast::<pg_sys::BufferUsage>().add(worker),
            wal.cast::<pg_sys::WalUsage>().add(worker),
        );
        pg_sys::shm_mq_detach(leader.0);
    }
}
