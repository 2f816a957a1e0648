import { type WorkflowInterceptorsFactory, workflowInfo } from '@temporalio/workflow';
import { getActivator } from '@temporalio/workflow/lib/global-attributes.js';

/** Memo of a first run that a test starts as if it continued another one. */
export const continuing = { continues: true };

/** Only the server can say that a run continues another one: tests say it with a memo. */
export const interceptors: WorkflowInterceptorsFactory = () => ({
  inbound: [
    {
      execute(input, next) {
        if (workflowInfo().memo?.continues === true) {
          getActivator().mutateWorkflowInfo((info) => ({ ...info, continuedFromExecutionRunId: 'the run before' }));
        }
        return next(input);
      },
    },
  ],
});
